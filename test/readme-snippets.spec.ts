import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(__dirname, '..');

function documents(): string[] {
  const libs = readdirSync(join(ROOT, 'libs')).map((lib) => join('libs', lib, 'README.md'));
  const docs = readdirSync(join(ROOT, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file));
  return ['README.md', 'ARCHITECTURE.md', ...libs, ...docs].filter((file) => existsSync(join(ROOT, file)));
}

/** TypeScript blocks by the path that each would have as a file beside its document. */
function snippets(): Map<string, string> {
  const found = new Map<string, string>();
  for (const file of documents()) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].forEach(([, code = ''], i) =>
      found.set(join(ROOT, `${file}.${i + 1}.ts`), code),
    );
  }
  return found;
}

describe('snippets of the documents', () => {
  const virtual = snippets();

  it('are there, in each but those that are about servers', () => {
    const without = ['ARCHITECTURE.md', 'docs/README.md', 'docs/production.md'];
    for (const file of documents().filter((name) => !without.includes(name))) {
      expect([...virtual.keys()].some((path) => path.startsWith(join(ROOT, file)))).toBe(true);
    }
  });

  it('compile as strictly as the project does', () => {
    const config = ts.getParsedCommandLineOfConfigFile(
      join(ROOT, 'tsconfig.json'),
      { noEmit: true },
      {
        ...ts.sys,
        onUnRecoverableConfigFileDiagnostic: (problem) => {
          throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'));
        },
      },
    );
    const options = config?.options ?? {};
    const host = ts.createCompilerHost(options);
    const disk = ts.createCompilerHost(options);
    host.fileExists = (path) => virtual.has(path) || disk.fileExists(path);
    host.readFile = (path) => virtual.get(path) ?? disk.readFile(path);
    host.getSourceFile = (path, language, ...rest) => {
      const code = virtual.get(path);
      return code === undefined
        ? disk.getSourceFile(path, language, ...rest)
        : ts.createSourceFile(path, code, language);
    };
    const program = ts.createProgram([...virtual.keys()], options, host);
    const problems = ts
      .getPreEmitDiagnostics(program)
      .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
    expect(problems).toEqual([]);
  });
});
