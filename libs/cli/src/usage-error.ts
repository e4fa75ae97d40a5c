/** A command line that luanest does not understand, or a machine that lacks what the command needs. Its message says what to do. */
export class UsageError extends Error {}
