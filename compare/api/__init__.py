"""The functions behind `jaxport.check`: live objects of the caller's process, before the judges of a run."""
