"""Files of facts and conversations that commands read and write."""
