"""What programs call: the store, its transactions, and how one is opened."""
