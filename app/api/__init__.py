"""HTTP: translate a request, call one service, translate its answer."""
