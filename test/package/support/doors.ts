import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** An import for users: a key of the package's `exports`. */
export interface Door {
  /** As in `luanest/<name>`. */
  readonly name: string;
  /** Path of its declarations, from the package's root. */
  readonly types: string;
}

/** Something that a door exports. */
export interface DoorExport {
  readonly name: string;
  /** True if the import has values at run time, not only types. */
  readonly value: boolean;
  readonly typeParameters: number;
  readonly docs: string;
  /** Public methods of a class whose declaration says nothing of them. */
  readonly silentMethods: readonly string[];
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

/** @param root folder with the package.json */
export function doorsOf(root: string): Door[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  return Object.entries(exports).flatMap(([name, target]) =>
    typeof target === 'string' ? [] : [{ name: name.replace('./', ''), types: target.types }],
  );
}

/** Everything that the doors export, as their declarations have it. */
export function exportsOf(root: string, doors: readonly Door[]): Map<string, DoorExport[]> {
  const files = doors.map(({ types }) => join(root, types));
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined) throw new Error(`${missing} is not there, run "npm run build" first.`);
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    skipLibCheck: true,
    types: ['node'],
  });
  const checker = program.getTypeChecker();
  return new Map(
    doors.map(({ name }, i) => {
      const source = program.getSourceFile(files[i] as string);
      const door = source && checker.getSymbolAtLocation(source);
      return [name, door ? checker.getExportsOfModule(door).map((symbol) => exportOf(symbol, checker)) : []];
    }),
  );
}

/** Returns true if an `export type` on the way to the declaration hides the value. */
function isTypeOnly(symbol: ts.Symbol, checker: ts.TypeChecker): boolean {
  if (!(symbol.flags & ts.SymbolFlags.Alias)) return false;
  if (symbol.declarations?.some((one) => ts.isExportSpecifier(one) && ts.isTypeOnlyExportDeclaration(one))) return true;
  const next = checker.getImmediateAliasedSymbol(symbol);
  return next !== undefined && isTypeOnly(next, checker);
}

function exportOf(symbol: ts.Symbol, checker: ts.TypeChecker): DoorExport {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const generic = (target.declarations ?? []).find(
    (one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one) || ts.isClassDeclaration(one),
  );
  return {
    name: symbol.name,
    value: (target.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol, checker),
    typeParameters: generic?.typeParameters?.length ?? 0,
    docs: docsOf(target, checker),
    silentMethods: (target.declarations ?? [])
      .filter(ts.isClassDeclaration)
      .flatMap(({ members }) => members.filter(isPublicMethod))
      .map(({ name }) => checker.getSymbolAtLocation(name))
      .flatMap((method) => (method && docsOf(method, checker) === '' ? [method.name] : [])),
  };
}

function docsOf(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  return ts.displayPartsToString(symbol.getDocumentationComment(checker));
}

function isPublicMethod(member: ts.ClassElement): member is ts.MethodDeclaration {
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return ts.isMethodDeclaration(member) && (ts.getCombinedModifierFlags(member) & hidden) === 0;
}
