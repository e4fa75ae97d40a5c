/** The command line is invalid, or the machine lacks something that the command needs. The message says what to do. */
export class UsageError extends Error {}
