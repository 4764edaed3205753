"""A report as one HTML file that opens from disk: no script, no network, no second file.

``requests.report.ReportContents`` comes in; :func:`document.dumps` is the way out. Every text
passes ``markup.text``.
"""
