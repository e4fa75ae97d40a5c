import { doorsOf, exportsOf, type DoorExport } from './doors';
import type { FreshApp } from './fresh-app';

/** How an app is compiled. */
export interface Resolution {
  readonly module: string;
  readonly moduleResolution: string;
  readonly [option: string]: unknown;
}

const COMPILER_OPTIONS = {
  target: 'es2022',
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  esModuleInterop: true,
  types: ['node'],
  rootDir: 'src',
} as const;

/**
 * Writes `src/every-export.ts`, which uses each export of each door once. A type that a compiler cannot find becomes `any`
 * without a word where `skipLibCheck` is on, so each use says that it is something else.
 */
export function writeEveryExport(app: FreshApp, wanted: (door: string) => boolean = () => true): void {
  const root = app.path('node_modules', 'luanest');
  const blocks = [...exportsOf(root, doorsOf(root))]
    .filter(([door]) => wanted(door))
    .map(([door, exported], i) => {
      const from = `door${i}`;
      return [`import * as ${from} from 'luanest/${door}';`, ...exported.map((one) => useOf(one, from))].join('\n');
    });
  const known = 'type Known<T> = 0 extends 1 & T ? false : true;';
  app.write('src/every-export.ts', [known, ...blocks, ''].join('\n'));
}

function useOf({ name, value, typeParameters }: DoorExport, from: string): string {
  const generic = typeParameters === 0 ? '' : `<${Array.from({ length: typeParameters }, () => 'never').join(', ')}>`;
  const type = value ? `typeof ${from}.${name}` : `${from}.${name}${generic}`;
  return `export const ${from}_${name}: Known<${type}> = true;`;
}

/**
 * Returns the errors of a compiler in the app and in luanest's declarations.
 *
 * @param compiler folder of a TypeScript below node_modules
 */
export async function problemsOf(app: FreshApp, compiler: string, resolution: Resolution): Promise<string[]> {
  const config = `tsconfig.${compiler}-${resolution.moduleResolution}.json`;
  const compilerOptions = { ...COMPILER_OPTIONS, skipDefaultLibCheck: true, noEmit: true, ...resolution };
  app.write(config, JSON.stringify({ compilerOptions, include: ['src'] }));
  const { stdout } = await app.bin(`${compiler}/bin/tsc`, ['-p', config, '--pretty', 'false'], { mayFail: true });
  const lines = stdout.split('\n').filter((line) => /^\S/.test(line));
  // Errors in declarations of other packages are left out.
  return lines.filter((line) => !/^node_modules\/(?!luanest\/)/.test(line));
}

/** Compiles the app into `dist`. @param resolution with `noCheck: true` if `problemsOf` checks the types */
export async function compile(app: FreshApp, resolution: Resolution): Promise<void> {
  const compilerOptions = { ...COMPILER_OPTIONS, skipLibCheck: true, outDir: 'dist', ...resolution };
  app.write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['src'] }));
  await app.bin('typescript/bin/tsc', ['-p', 'tsconfig.json']);
}

/** Lets the app's tests be run by Jest and ts-jest. */
export function useTsJest(app: FreshApp): void {
  const compilerOptions = { ...COMPILER_OPTIONS, rootDir: '.', types: ['node', 'jest'], skipLibCheck: true };
  app.write('tsconfig.jest.json', JSON.stringify({ compilerOptions: { ...compilerOptions, module: 'commonjs' } }));
  const config = {
    transform: { '^.+\\.ts$': ['ts-jest', { tsconfig: 'tsconfig.jest.json' }] },
    moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  };
  app.write('jest.config.json', JSON.stringify(config));
}
