"""What can be clicked in a notebook. The only room that imports ipywidgets and anywidget, inside functions.

A widget shows what the views show and is left as their HTML when the notebook is saved, so that nothing here is needed to
read a notebook again.
"""
