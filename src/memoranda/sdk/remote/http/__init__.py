"""Messages over HTTP: pooled connections, a request for each call and for each batch of writes."""
