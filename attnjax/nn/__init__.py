"""Building blocks that are not attention: the linear map, dropout, lifting over heads and time."""
