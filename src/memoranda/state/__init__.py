"""State: keys, their values, and every version they ever had."""
