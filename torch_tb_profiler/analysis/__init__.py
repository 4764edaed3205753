"""What several views, advice and the timeline share: typed functions of a trace."""
