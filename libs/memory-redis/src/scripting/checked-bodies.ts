/**
 * SHA1 hashes of Lua bodies that are known to compile. Empty here: `npm run build` writes those of luanest's own scripts to dist.
 * See DECISIONS.md: own-scripts-parsed-when-run
 */
export const CHECKED_BODIES: ReadonlySet<string> = new Set();
