"""Files over MAVLink: the FTP protocol, and the download of flight logs."""
