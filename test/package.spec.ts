import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { doorsOf, exportsOf } from './package/support/doors';
import { exportedLibs } from './support/libs';
import { anchorsOf, linksOf, words } from './support/markdown';

const ROOT = join(__dirname, '..');
/** Rooms of a lib that are a door of their own, since not all users of the lib need what they load. */
const SUB_DOORS = ['rate-limit/throttler-storage', 'testing/servers'];
const CALLED_BY_NEST = /^(canActivate|intercept|on[A-Z]\w+|beforeApplicationShutdown)$/;

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly typesVersions: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
const libs = exportedLibs();
let doorExports: ReturnType<typeof exportsOf> | undefined;
/** Exports of all doors, read once, because the compiler takes seconds. */
const exported = () => (doorExports ??= exportsOf(ROOT, doorsOf(ROOT)));

describe('the doors of the package', () => {
  const doors = [...libs, ...SUB_DOORS].sort();
  const built = (door: string): string => {
    const [lib, room] = door.split('/');
    return `./dist/libs/${lib}/src/${room === undefined ? '' : `${room}/`}index`;
  };

  it('are the libs and the listed rooms, each with code and declarations', () => {
    const wanted = doors.map((door) => [
      `./${door}`,
      { types: `${built(door)}.d.ts`, default: `${built(door)}.js` },
    ]) as [string, unknown][];
    const others = { '.': './dist/index.js', './package.json': './package.json' };
    expect(manifest.exports).toEqual({ ...Object.fromEntries(wanted), ...others });
  });

  it('are found by moduleResolution node10, which reads typesVersions only', () => {
    const wanted = doors.map((door) => [door, [`${built(door).slice(2)}.d.ts`]]);
    expect(manifest.typesVersions).toEqual({ '*': Object.fromEntries(wanted) as unknown });
  });

  it('have a docstring in the declarations for each export, and for each public method of a class', () => {
    for (const [door, all] of exported()) {
      expect({ door, exports: all.length }).not.toEqual({ door, exports: 0 });
      const silent = all.flatMap(({ name, docs, silentMethods }) => [
        ...(docs === '' ? [name] : []),
        ...silentMethods.filter((method) => !CALLED_BY_NEST.test(method)).map((method) => `${name}.${method}`),
      ]);
      expect({ door, silent }).toEqual({ door, silent: [] });
    }
  });

  it('are every room of a lib that has an index.ts', () => {
    const rooms = libs.flatMap((lib) => {
      const src = join(ROOT, 'libs', lib, 'src');
      const rooms = readdirSync(src).filter((room) => existsSync(join(src, room, 'index.ts')));
      return rooms.map((room) => `${lib}/${room}`);
    });
    expect(rooms.sort()).toEqual(SUB_DOORS);
  });
});

describe('the root of the package', () => {
  const doors = [...libs, ...SUB_DOORS].map((door) => `luanest/${door}`);
  const failureOf = (...args: readonly string[]): string =>
    spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }).stderr;

  it.each([
    ['is required', ['--eval', "const { LockModule } = require('luanest')"]],
    ['is imported', ['--input-type=module', '--eval', "import 'luanest'"]],
    ['gives a name', ['--input-type=module', '--eval', "import { LockModule, RateLimitGuard } from 'luanest'"]],
  ])('names the doors where it %s', (_how, args) => {
    const [said = ''] = /Error: luanest has no root export.*/.exec(failureOf(...args)) ?? [];
    expect(doors.filter((door) => !new RegExp(`${door}[,.]`).test(said))).toEqual([]);
  });

  it('knows the name of each value that a door exports, and no type: an import of it reaches the sentence', () => {
    const code = readFileSync(join(ROOT, 'dist/index.js'), 'utf8');
    const known = [...code.matchAll(/^exports\.(\w+) =/gm)].map(([, name]) => name);
    const values = [...exported().values()].flat().filter(({ value }) => value);
    expect(known.sort()).toEqual([...new Set(values.map(({ name }) => name))].sort());
  });
});

describe('what is packed', () => {
  const packed = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as { files: { path: string }[] }[];
  const files = packed[0]?.files.map(({ path }) => path) ?? [];
  const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

  it('is code, declarations and documents of the libs', () => {
    const document =
      /^(README|README\.zh-CN|ARCHITECTURE|CHANGELOG)\.md$|^LICENSE$|^docs\/.+\.(md|svg|webp)$|^docs\/monitoring\/.+\.(json|yml)$|^libs\/[^/]+\/README\.md$/;
    const code = /^dist\/(index|libs\/[^/]+\/src\/.+)(?<!\.spec)\.(js|d\.ts)$/;
    // What the console sends to a browser.
    const page = /^dist\/libs\/console\/src\/assets\/(console\.css|favicon\.svg|index\.html|licences\.txt)$/;
    const known = [/^package\.json$/, document, code, page];
    const others = files.filter((file) => !known.some((pattern) => pattern.test(file)));
    expect(others).toEqual([]);
    for (const door of doorsOf(ROOT)) expect(files).toContain(door.types.slice(2));
    for (const lib of libs) expect(files).toContain(`libs/${lib}/README.md`);
  });

  const documents = files.filter((file) => file.endsWith('.md'));

  it('has documents whose links lead to packed files and existing headings only', () => {
    const broken = documents.flatMap((file) =>
      linksOf(file)
        // The pictures of the console, 265 kB, are in the repository and on the site only.
        .filter(({ path }) => !/^docs\/console-[\w-]+\.webp$/.test(path) || !existsSync(join(ROOT, path)))
        .filter(({ path, anchor }) => !files.includes(path) || (anchor && !anchorsOf(path).includes(anchor)))
        .map(({ path, anchor = '' }) => `${file}: ${path}#${anchor}`),
    );
    expect(broken).toEqual([]);
  });

  it('has documents that mention the repository where they name a file that is not packed', () => {
    // These two are about the repository.
    const guides = documents.filter((file) => !/^(ARCHITECTURE|CHANGELOG)/.test(file));
    const absent = guides.flatMap((file) =>
      read(file)
        .split(/\n(?=\n|- |\d+\. )/)
        .filter((paragraph) => !/repositor|clone/.test(paragraph))
        .flatMap((paragraph) => words(paragraph))
        .filter(
          (word) => /^[\w.-]+\/[\w./-]+\.\w+$/.test(word) && existsSync(join(ROOT, word)) && !files.includes(word),
        )
        .map((word) => `${file}: ${word}`),
    );
    expect(absent).toEqual([]);
  });

  it('names no path of the machine that built it, no source map, and no module that a user does not have', () => {
    const allowed = new Set([...Object.keys(manifest.peerDependencies), 'cluster-key-slot']);
    for (const file of files.filter((name) => name.startsWith('dist/'))) {
      const text = read(file);
      expect({ file, root: text.includes(ROOT), map: text.includes('sourceMappingURL') }).toEqual({
        file,
        root: false,
        map: false,
      });
      const wanted = [...text.matchAll(/(?:require\(|from |import\()["']([^."'][^"']*)["']/g)].map(
        ([, name = '']) => name,
      );
      // Prose may quote a value after "from".
      const modules = wanted.filter((name) => /^(@[\w-]+\/)?[a-z][\w:./-]*$/.test(name));
      const strange = modules.filter((name) => !allowed.has(name) && !/^(node:|luanest\/)/.test(name));
      expect({ file, strange }).toEqual({ file, strange: [] });
    }
  });
});

it('every peer that not all doors need is optional', () => {
  const needed = Object.keys(manifest.peerDependencies).filter(
    (name) => manifest.peerDependenciesMeta[name]?.optional !== true,
  );
  expect(needed.sort()).toEqual(['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs']);
  expect(Object.keys(manifest.peerDependenciesMeta).filter((name) => !(name in manifest.peerDependencies))).toEqual([]);
});
