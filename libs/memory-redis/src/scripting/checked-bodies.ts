/**
 * SHA1 hashes of Lua scripts that need no check, because they are known to compile. The list is empty in the source. `npm run build` writes
 * the hashes of luanest's own scripts to dist. See DECISIONS.md: own-scripts-parsed-when-run
 */
export const CHECKED_BODIES: ReadonlySet<string> = new Set();
