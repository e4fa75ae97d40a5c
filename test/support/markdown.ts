import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

/** Rows of a document's table whose header begins with these cells. @throws Error when there is none */
export function tableOf(file: string, ...header: readonly string[]): string[][] {
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const at = lines.findIndex((line) => line.startsWith('|') && header.every((cell, i) => cells(line)[i] === cell));
  if (at === -1) throw new Error(`${file} has no table that begins with ${header.join(', ')}`);
  const rows = lines.slice(at + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return (end === -1 ? rows : rows.slice(0, end)).map(cells);
}

/** What stands between backquotes. */
export function words(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
}

/** Code blocks of a language. */
export function blocksOf(file: string, language: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code);
}
