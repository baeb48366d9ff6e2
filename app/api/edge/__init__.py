"""The edge: what stands between a socket and the application.

The web server's own protocol buffers a request line and headers of any length for as long as they take, keeps as many
sockets as come, and starts counting a body only when somebody asks for it. Here bytes, number and time are bounded before
anything is kept, a full house makes room for newcomers at the cost of those who have not asked anything yet, and whatever
happens a health check finds a place. See docs/operations.md, "The edge".
"""

from app.api.edge.limits import EdgeLimits
from app.api.edge.server import EdgeConfig, edge_config

__all__ = ["EdgeConfig", "EdgeLimits", "edge_config"]
