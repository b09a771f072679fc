"""The largest margin of two classes, enclosed by an interval with exact witnesses."""
