import type { Project } from './code/project';

/** A codemod: it edits the files of a project, and adds notes about what it cannot change. */
export interface Migration {
  /** Page in docs/ that explains how to finish the migration by hand. */
  readonly guide: string;
  /** Shell commands to run after the migration. */
  readonly afterwards: readonly string[];
  migrate(project: Project): void;
}
