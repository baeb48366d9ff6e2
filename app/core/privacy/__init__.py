"""Privacy costs: what one draw, many draws and many releases reveal, as proven upper bounds."""

from app.core.privacy.cost import ORDERS, ORDERS_VERSION, ZERO_COST, Cost, conversion_offset

__all__ = ["ORDERS", "ORDERS_VERSION", "ZERO_COST", "Cost", "conversion_offset"]
