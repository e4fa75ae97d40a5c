import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../snippets';

/** Two versions of the package that was built, as two folders. */
export interface Versions {
  readonly old: string;
  readonly new: string;
  /** Source texts of the scripts that both have, by lib and name. */
  scripts(): { lib: string; name: string; old: string; new: string }[];
  remove(): void;
}

interface Script {
  readonly source: string;
}

/** Makes the folders: one with dist as it is, and one with another version and another text of each script. */
export function makeVersions(): Versions {
  const root = mkdtempSync(join(tmpdir(), 'luanest-versions-'));
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const [older, newer] = [copyOf(root, 'old', '0.0.9'), copyOf(root, 'new')];
  for (const { file } of generatedIn(older)) {
    // The client sends this text, so its SHA differs, too.
    const code = readFileSync(file, 'utf8').replaceAll(
      /(\{ source: .+?)( \};)$/gm,
      '$1 + "\\n-- Of version 0.0.9\\n"$2',
    );
    writeFileSync(file, code);
  }
  return {
    old: older,
    new: newer,
    scripts: () =>
      generatedIn(older).flatMap(({ lib, file }) => {
        const [before, after] = [file, file.replace(older, newer)].map((path) =>
          jest.requireActual<Record<string, Script>>(path),
        ) as [Record<string, Script>, Record<string, Script>];
        return Object.entries(before).map(([name, { source }]) => ({
          lib,
          name,
          old: source,
          new: (after[name] as Script).source,
        }));
      }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

function copyOf(root: string, name: string, version?: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  cpSync(join(ROOT, 'dist', 'libs'), join(folder, 'dist', 'libs'), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  if (version === manifest.version) throw new Error(`The other version is ${version}, too.`);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, ...(version && { version }) }));
  return folder;
}

function generatedIn(folder: string): { lib: string; file: string }[] {
  const libs = join(folder, 'dist', 'libs');
  return readdirSync(libs, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('scripts/generated.js'))
    .map((file) => ({ lib: file.split('/')[0] as string, file: join(libs, file) }));
}
