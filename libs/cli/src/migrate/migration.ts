import type { Project } from './code/project';

/** A codemod. It changes the source files of a project, and adds notes about the changes that it cannot make. */
export interface Migration {
  /** File name of the page in docs/ that explains how to make the remaining changes. */
  readonly guide: string;
  /** Shell commands that the user must run after the migration. */
  readonly afterwards: readonly string[];
  migrate(project: Project): void;
}
