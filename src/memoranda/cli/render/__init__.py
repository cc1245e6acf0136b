"""Results as text for a terminal; their JSON comes from `memoranda.calls.as_json`."""
