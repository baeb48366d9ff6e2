"""Plain ASGI layers around every request, outermost first: envelope, observation, last resort, body limit."""
