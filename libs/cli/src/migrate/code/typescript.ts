import type ts from 'typescript';
import { UsageError } from '../../usage-error';
import { loadInstalled } from '../../redis/installed-client';

/** The app's TypeScript package, of which only the parser is used. See DECISIONS.md: parser-of-the-app */
export type TypeScript = typeof ts;

/** Loads the app's TypeScript package. @throws UsageError if it is not installed, or has no parser */
export function typescriptOf(folder: string): TypeScript {
  const found = loadInstalled('typescript', folder) as Partial<TypeScript> | undefined;
  if (typeof found?.createSourceFile === 'function') return found as TypeScript;
  throw new UsageError(
    found === undefined
      ? `typescript is not installed in ${folder}. Run \`npm install --save-dev typescript@6\` there, or npx -p luanest -p typescript@6 luanest migrate ...`
      : `typescript ${String(found.version)} in ${folder} has no parser that a program can call. Run npx -p luanest -p typescript@6 luanest migrate ...`,
  );
}
