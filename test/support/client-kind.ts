/** A test of what ioredis itself does, such as sending a command again, or of the object of its client. Other clients skip it. */
export const itIoredis = process.env.LUANEST_TEST_CLIENT ? it.skip : it;

/** True for ioredis and iovalkey, false for node-redis, which does not send QUIT, nor a command again whose reply was lost. */
export const isIoredis = !process.env.LUANEST_TEST_CLIENT?.startsWith('redis');
/** Tests of what comes of a command that the client sends again. */
export const describeResending = isIoredis ? describe : describe.skip;
export const itResending = isIoredis ? it : it.skip;

/** The reason that Redis 7.0, or a newer server, gives when the user of a script may not run a command. */
export const NO_PERMISSION = /can't run this command|has no permissions to run/;
