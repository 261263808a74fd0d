"""The size above which compiling wins: functions timed over a series of sizes."""
