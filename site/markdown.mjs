// @ts-check
// What the site needs to know of Markdown: headings with their anchors, links, and code blocks, which stay as they are.

const FENCE = /^```[\s\S]*?^```/gm;
const LINK = /(\]\()([^)\s]+)(\))|(<(?:img|a)\b[^>]*\b(?:src|href)=")([^"]+)(")/g;

/** Returns the anchor that GitHub gives to a heading. Links of the documents are written for it. @param {string} heading */
export const slugOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

/** Returns the text without marks: backquotes, stars, the targets of links. @param {string} text */
export const plain = (text) => text.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');

/** Returns the title of a document: its first heading. @param {string} text @throws Error if there is none */
export function titleOf(text) {
  const title = /^# (.+)$/m.exec(text)?.[1];
  if (title === undefined) throw new Error(`There is no title in "${text.slice(0, 60)}"`);
  return plain(title);
}

/**
 * Changes what is not a code block.
 * @param {string} text
 * @param {(prose: string) => string} change
 */
export function changeProse(text, change) {
  let end = 0;
  let changed = '';
  for (const { 0: block, index } of text.matchAll(FENCE)) {
    changed += change(text.slice(end, index)) + block;
    end = index + block.length;
  }
  return changed + change(text.slice(end));
}

/**
 * Changes the targets of links and pictures. Addresses with a scheme stay.
 * @param {string} text
 * @param {(target: string) => string} change
 */
export const changeLinks = (text, change) =>
  changeProse(text, (prose) =>
    prose.replaceAll(LINK, (_all, open, target, close, tagOpen, tagTarget, tagClose) => {
      const link = target ?? tagTarget;
      return (open ?? tagOpen) + (/^[a-z]+:/.test(link) ? link : change(link)) + (close ?? tagClose);
    }),
  );
