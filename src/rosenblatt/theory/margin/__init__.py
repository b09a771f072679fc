"""The largest margin of two classes: lower and upper bounds with exact witnesses."""
