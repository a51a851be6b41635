"""Tables and reports in the shape a chart needs: plotly figures as plain dicts, so that nothing here imports plotly."""
