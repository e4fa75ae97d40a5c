import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

/** Returns the rows of the first table of a document whose header begins with these cells. @throws Error if there is no such table */
export function tableOf(file: string, ...header: readonly string[]): string[][] {
  return rowsOf(file, header, 1);
}

/** Returns the rows of all tables of a document whose headers begin with these cells. @throws Error if there is no such table */
export function tablesOf(file: string, ...header: readonly string[]): string[][] {
  return rowsOf(file, header, Infinity);
}

function rowsOf(file: string, header: readonly string[], tables: number): string[][] {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const starts = lines.flatMap((line, at) =>
    line.startsWith('|') && header.every((cell, i) => cells(line)[i] === cell) ? [at] : [],
  );
  if (starts.length === 0) throw new Error(`${file} has no table that begins with ${header.join(', ')}`);
  return starts.slice(0, tables).flatMap((at) => {
    const rows = lines.slice(at + 2);
    const end = rows.findIndex((line) => !line.startsWith('|'));
    return (end === -1 ? rows : rows.slice(0, end)).map(cells);
  });
}

/** Returns the texts between backquotes. */
export function words(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
}

/** Returns the code blocks of a language in a document. */
export function blocksOf(file: string, language: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code);
}

/** Target of a relative link: a path from the root, and a heading's anchor. */
export interface Link {
  readonly path: string;
  readonly anchor?: string;
}

/** Returns the relative links and pictures of a document. */
export function linksOf(file: string): Link[] {
  const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)|<(?:img|a)\b[^>]*\b(?:src|href)="([^"]+)"/g)];
  return targets
    .map(([, link, tag]) => link ?? tag ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', anchor] = target.split('#');
      return { path: path === '' ? file : join(dirname(file), path), ...(anchor !== undefined && { anchor }) };
    });
}

/** Returns the anchors of a document: those that GitHub makes of headings, and those of `<a id>` tags. */
export function anchorsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  const used = new Map<string, number>();
  const tags = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-');
    const before = used.get(anchor) ?? 0;
    used.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
  return [...headings, ...tags];
}
