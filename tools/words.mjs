// @ts-check
// The words that this repository does not use, and what to write instead. tools/check-words.mjs reads this file.

/**
 * A rule. A space in `pattern` matches any white space, also a line break of a comment. Rules ignore case and match whole words
 * only. A rule with `opens` is applied only to the first word of doc comments.
 * @typedef {{ pattern: string, write: string, opens?: boolean }} Rule
 */

/** @type {readonly Rule[]} */
export const WORDS = [
  { pattern: 'tells?|telling|told', write: 'returns, reports, emits, logs' },
  { pattern: '(?:says?|said|saying) of', write: 'reports' },
  { pattern: 'anew', write: 'again' },
  { pattern: 'beside', write: 'next to, compared with, in addition to' },
  { pattern: '(?:held|holds?|holding) (?:\\S+ ){0,6}against', write: 'is checked against, is compared with' },
  { pattern: 'mends?|mended|mending', write: 'repair, fix, recover' },
  { pattern: 'in (?:the|its|their) place of', write: 'replaces, instead of' },
  // "There is no lock" is plain English. "A getter is no method" is not.
  {
    pattern: '(?<!there )(?:is|are|was|were|be) no (?!longer|more|less|later|fewer)\\w+',
    write: 'is not a',
  },
  { pattern: '(?<!there )(?:is|are|was|were) none', write: 'is not a; is invalid, unknown, missing' },
  { pattern: 'heard|learned|learnt', write: 'reported, known' },
  { pattern: '(?:Redis|is|are|was|were|be|being|been|stays) away', write: 'unavailable' },
  { pattern: 'he|his|him|himself|whoever|whomever', write: 'caller, client, user; they, their' },
  { pattern: 'nonsense|odd(?! (?:number|length|count))', write: 'invalid, unknown, missing' },
  { pattern: 'as long as (?:\\S+ ){1,6}lasts?', write: 'while X is held, until X ends' },
  { pattern: 'now and then', write: 'periodically' },
  { pattern: 'figures?', write: 'parameters, settings; of a measurement: numbers' },
  { pattern: 'under way', write: 'in flight' },
  { pattern: 'later lock', write: 'higher fencing token' },
  { pattern: 'spread over', write: 'sharded over' },
  { pattern: 'dead (?:payouts?|messages?|tasks?)', write: 'dead-lettered' },
  { pattern: '(?:stands?|stood|standing) on', write: 'is applied to, decorates' },
  { pattern: 'Whether', opens: true, write: 'Returns true if ..., True if ...' },
  { pattern: 'What', opens: true, write: 'the noun or the verb' },
  { pattern: 'Answers?', opens: true, write: 'Returns' },
  { pattern: 'Most', opens: true, write: 'Maximum number of, Largest, Longest' },
  { pattern: 'Why', opens: true, write: 'Reason why' },
  { pattern: '(?:undefined|null|Infinity) without (?:one|it|them)', write: 'undefined if there is none' },
  { pattern: 'the begin', write: 'the beginning, the start' },
];

/**
 * Uses that are allowed. Each has a file, the exact text around the word, and the reason. Keep this list short, because most
 * texts can be written in another way.
 * @type {readonly { file: string, text: string, why: string }[]}
 */
export const EXCEPTIONS = [];

/**
 * Files and folders whose words are not reported yet, except if the command names them: `node tools/check-words.mjs libs/once`.
 * After a folder is corrected, remove its line. The check fails for a line that is not needed.
 * @type {readonly string[]}
 */
export const NOT_CLEAN_YET = [];
