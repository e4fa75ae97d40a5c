/** True in `npm run test:faults`, which runs every test at its full size. */
export const LONG = process.env.LUANEST_LONG === '1';

/**
 * Number of rounds, runs or items of a test: `quick` in `npm test`, `full` in `npm run test:faults`, which runs every file that
 * imports this one.
 */
export const size = (quick: number, full: number): number => (LONG ? full : quick);
