import type * as ts from 'typescript';
import { applied, type Edit } from './edits';
import { Imports } from './imports';
import type { TypeScript } from './typescript';

/** Note about something that the user must do or check after a codemod. */
export interface Note {
  /** Path of the file, relative to the folder of the app. */
  readonly file: string;
  /** Line number; the first line is 1. */
  readonly line: number;
  /** `must`: without this step, the app does not compile or boot, or behaves wrongly. `check`: the app works, but not quite as before. */
  readonly level: 'must' | 'check';
  readonly text: string;
}

/** A source file and its edits. All other text stays as it is, with comments and formatting. */
export class EditedFile {
  readonly source: ts.SourceFile;
  readonly imports: Imports;
  readonly notes: Note[] = [];
  private readonly edits: Edit[] = [];

  /** @param path relative to the folder of the app */
  constructor(
    readonly path: string,
    readonly text: string,
    private readonly typescript: TypeScript,
  ) {
    this.source = typescript.createSourceFile(path, text, typescript.ScriptTarget.Latest, true);
    this.imports = new Imports(this, typescript);
  }

  add(...edits: readonly Edit[]): void {
    for (const edit of edits) {
      const same = this.edits.some(
        ({ start, end, text }) => start === edit.start && end === edit.end && text === edit.text,
      );
      if (!same) this.edits.push(edit);
    }
  }

  replace(node: ts.Node, text: string): void {
    this.add({ start: node.getStart(), end: node.end, text });
  }

  note(node: ts.Node, level: Note['level'], text: string): void {
    const line = this.source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    if (!this.notes.some((note) => note.line === line && note.text === text))
      this.notes.push({ file: this.path, line, level, text });
  }

  /** Returns the indentation of the line that contains a position. */
  indentAt(position: number): string {
    const line = this.text.lastIndexOf('\n', position - 1) + 1;
    return /^[ \t]*/.exec(this.text.slice(line))?.[0] ?? '';
  }

  /** Returns the start of a node, including the comments directly above it. */
  startWithComments(node: ts.Node): number {
    const [first] = this.typescript.getLeadingCommentRanges(this.text, node.getFullStart()) ?? [];
    return first === undefined ? node.getStart() : first.pos;
  }

  /** Removes a node, and its lines if they contain nothing else. Comments above the node stay. */
  removeLines(node: ts.Node): void {
    const from = node.getStart();
    const start = this.text.lastIndexOf('\n', from - 1) + 1;
    const newline = this.text.indexOf('\n', node.end);
    const rest = this.text.slice(node.end, newline < 0 ? undefined : newline);
    const alone = this.text.slice(start, from).trim() === '' && /^\s*(\/\/.*)?$/.test(rest);
    if (!alone) return this.add({ start: node.getStart(), end: node.end, text: '' });
    let end = newline < 0 ? this.text.length : newline + 1;
    const blankAbove =
      /\n[ \t]*\r?\n$/.test(this.text.slice(0, start)) || /\{[ \t]*\r?\n$/.test(this.text.slice(0, start));
    const blankBelow = /^[ \t]*\r?\n/.exec(this.text.slice(end));
    if (blankAbove && blankBelow) end += blankBelow[0].length;
    this.add({ start, end, text: '' });
  }

  /** Removes an element of a list, with the comma after it, or else before it. */
  removeElement(node: ts.Node): void {
    const after = /^\s*,[ \t]*(\r?\n)?/.exec(this.text.slice(node.end));
    const start = node.getStart();
    if (after) {
      const line = this.text.lastIndexOf('\n', start - 1) + 1;
      const own = after[1] !== undefined && this.text.slice(line, start).trim() === '';
      this.add({ start: own ? line : start, end: node.end + after[0].length, text: '' });
      return;
    }
    const before = /,\s*$/.exec(this.text.slice(0, start));
    this.add({ start: start - (before?.[0].length ?? 0), end: node.end, text: '' });
  }

  /** Applies edits to a part of the file. @returns the new text of this part */
  textWith(edits: readonly Edit[], start: number, end: number): string {
    return applied(
      this.text.slice(start, end),
      edits.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start })),
    );
  }

  /** Returns true if an edit replaces the node, or a node that contains it. */
  touches(node: ts.Node): boolean {
    return this.edits.some(({ start, end }) => start <= node.getStart() && end >= node.end);
  }

  /** Returns the text of the file with all its edits. */
  result(): string {
    this.imports.finish();
    return applied(this.text, this.edits);
  }
}
