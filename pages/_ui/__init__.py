"""What the pages share: session, header, style and cards. No SQL, no rule of the method."""
