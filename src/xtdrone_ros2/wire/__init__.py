"""DDS: types and bytes of messages, qualities of service, the participant, bags."""
