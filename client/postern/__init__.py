"""What a program that talks to Postern imports: `postern.client`. Nothing here needs the service's own code."""

__version__ = "0.1.0"
