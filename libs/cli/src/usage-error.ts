/** Thrown if the command line is invalid, or if the machine lacks something that the command needs. The message says what to do. */
export class UsageError extends Error {}
