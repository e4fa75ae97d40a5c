import { LONG } from '../../support/size';

/** `it`, for the full matrix only: `LUANEST_LONG=1 npm run test:package`, which runs before a release. */
export const itInFull: jest.It = LONG ? it : it.skip;
