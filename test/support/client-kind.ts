/** A test of what ioredis itself does, such as sending a command again, or of the object of its client. Other clients skip it. */
export const itIoredis = process.env.LUANEST_TEST_CLIENT ? it.skip : it;
