/**
 * SHA1 hashes of Lua scripts that are known to be valid. The list is empty in the source; `npm run build` writes the hashes of luanest's
 * own scripts into dist.
 * See DECISIONS.md: own-scripts-parsed-when-run
 */
export const CHECKED_BODIES: ReadonlySet<string> = new Set();
