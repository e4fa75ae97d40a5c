import { statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from '../command';
import { coloured, type Terminal } from '../terminal';
import { UsageError } from '../usage-error';
import type { Note } from './code/edited-file';
import { unifiedDiff } from './code/diff';
import { Project } from './code/project';
import { typescriptOf } from './code/typescript';
import type { Migration } from './migration';
import { redlock } from './redlock/redlock';
import { schedule } from './schedule';
import { storageOnly } from './throttler/storage-only';
import { throttler } from './throttler/throttler';

const MIGRATIONS: Readonly<Record<string, Migration>> = { throttler, redlock, schedule };

const HELP = `Usage: luanest migrate throttler|redlock|schedule FOLDER [--write] [--storage-only]

Changes the TypeScript files below FOLDER from another library to luanest. Formatting and comments stay.
Without --write it changes nothing and prints the difference, which \`git apply\` and \`patch -p1\` take.
What it cannot do, and what behaves differently afterwards, is listed with file and line.
A second run changes nothing more. It needs the \`typescript\` of the app.

  throttler        @nestjs/throttler to luanest/rate-limit
  redlock          redlock to luanest/lock
  schedule         locks each job of @nestjs/schedule, so that it runs on one node
  --write          changes the files
  --storage-only   throttler: the guard and the decorators stay, and count in Redis`;

export const migrate: Command = {
  summary: 'changes an app from throttler, redlock or unlocked cron jobs to luanest, and lists the rest',
  help: HELP,
  options: { write: { type: 'boolean' }, 'storage-only': { type: 'boolean' } },
  run({ values, positionals }, terminal) {
    const [name = '', folder, ...rest] = positionals;
    const migration = migrationOf(name, values['storage-only'] === true);
    if (folder === undefined || rest.length > 0)
      throw new UsageError('No folder was given, or several. Give one folder, such as: luanest migrate throttler src');
    const root = resolve(terminal.folder, folder);
    if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
      throw new UsageError(`There is no folder ${folder}.`);
    const project = new Project(root, typescriptOf(root));
    migration.migrate(project);
    const changed = project.files
      .map((file) => ({ file, after: file.result() }))
      .filter(({ file, after }) => after !== file.text);
    for (const { file, after } of changed) {
      if (values.write === true) writeFileSync(join(root, file.path), after);
      terminal.print(
        values.write === true ? `changed  ${file.path}` : shownDiff(unifiedDiff(file.path, file.text, after), terminal),
      );
    }
    // Only the diff goes to the standard output, so that it can be piped.
    terminal.complain(summary(project.notes(), changed.length, migration, values.write === true));
    return Promise.resolve(0);
  },
};

function migrationOf(name: string, onlyStorage: boolean): Migration {
  const migration = Object.hasOwn(MIGRATIONS, name) ? MIGRATIONS[name] : undefined;
  if (!migration)
    throw new UsageError(`There is no migration from ${name || 'nothing'}. Expected throttler, redlock or schedule.`);
  if (!onlyStorage) return migration;
  if (migration !== throttler) throw new UsageError('--storage-only can be used only with luanest migrate throttler.');
  return storageOnly;
}

function shownDiff(diff: string, terminal: Terminal): string {
  const shown = (line: string): string => {
    if (line.startsWith('+')) return coloured(terminal, 'green', line);
    return line.startsWith('-') ? coloured(terminal, 'red', line) : line;
  };
  return diff.trimEnd().split('\n').map(shown).join('\n');
}

function summary(notes: readonly Note[], changed: number, { guide, afterwards }: Migration, written: boolean): string {
  const list = (level: Note['level'], title: string): string[] => {
    const lines = notes
      .filter((note) => note.level === level)
      .map(({ file, line, text }) => `  ${file}:${line}  ${text}.`);
    return lines.length === 0 ? [] : ['', title, ...lines];
  };
  const files = `${changed} file${changed === 1 ? '' : 's'}`;
  const done =
    changed === 0
      ? 'There is nothing to change.'
      : written
        ? `Changed ${files}.`
        : `Would change ${files}: run this again with --write.`;
  return [
    done,
    ...list('must', 'Do this by hand:'),
    ...list('check', 'Look at this, it behaves differently:'),
    ...(changed === 0
      ? []
      : ['', 'Then:', ...afterwards.map((command) => `  ${command}`), '  your formatter, your linter and your tests']),
    ...(notes.length === 0 && changed === 0 ? [] : ['', `Guide: node_modules/luanest/docs/${guide}`]),
  ].join('\n');
}
