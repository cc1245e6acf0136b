"""Results as text for a terminal; their JSON comes from `memoranda.sdk.as_json`."""
