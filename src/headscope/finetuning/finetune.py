"""Fine-tune a model on a task, by default with the protocol of Kovaleva et al.

The result is an ordinary model folder. A stopped run resumes and ends in the same model.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import json
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch

from headscope.arguments import need_path
from headscope.errors import BadInput, HeadscopeError
from headscope.finetuning.training import PROTOCOL, Recipe, encode, pad_id, train
from headscope.models.loading_report import check_complete, check_weights
from headscope.models.open import BUNDLED, model_source
from headscope.models.placement import on_device
from headscope.models.pretrained import not_opened
from headscope.models.tokenizer_files import need_tokenizer, open_tokenizer
from headscope.reading import Scope
from headscope.runs import ProgressCallback, Run, model_fingerprint
from headscope.tasks.files import read_task
from headscope.tasks.fitting import check_trainable
from headscope.tasks.task import Task

DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")


def finetune(
    source: Scope | str | Path | None,
    task: Task | str | Path,
    output: str | Path | None = None,
    *,
    recipe: Recipe = PROTOCOL,
    device: str | None = None,
    trust_remote_code: bool = False,
    limit: int | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> Path:
    """Train a model on a task, and write it to a folder.

    Parameters
    ----------
    source
        A scope, or the name or folder of a model; None: the bundled model.
    task
        Labelled examples: a path or a `Task`.
    output
        The new model's folder; "TASK-model" in the working folder if left out.
    recipe
        Epochs, batch size, learning rate and the like; by default those of the paper.
    device
        Where the model trains, such as "cuda:1"; the fastest there is if left out.
    trust_remote_code
        Whether code that comes with the model may run; False by default.
    limit
        Only the first examples.
    restart
        Whether to start over instead of resuming.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    pathlib.Path
        The folder, which `hs.load` opens.

    Examples
    --------
    >>> import headscope as hs
    >>> folder = hs.finetune(None, "reviews.csv", limit=200)  # doctest: +SKIP
    >>> scope = hs.load(folder)  # doctest: +SKIP
    """
    if isinstance(task, (str, Path)):
        task = read_task(task, split="train")
    if not isinstance(task, Task):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"Give a task or a path to one, not {type(task).__name__}.")
    if source is not None and not isinstance(source, Scope):
        need_path(source)
    task = task.first(limit)
    output = f"{task.name}-model" if output is None else output
    check_trainable(task)
    folder = Path(output).absolute()
    _check_free(folder)
    if not isinstance(recipe, Recipe):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"recipe= must be a Recipe, not {type(recipe).__name__}.")
    model, tokenizer = new_classifier(source, task, recipe, trust_remote_code)
    check_weights(model, "The model" if source is None else str(getattr(source, "name", source)))
    model = on_device(model, device or ("cuda" if torch.cuda.is_available() else "cpu"), None)
    identity = {
        "model": model_fingerprint(model),
        "task": _task_fingerprint(task),
        "recipe": dataclasses.asdict(recipe),
    }
    run = Run(
        folder,
        identity,
        title=f"Training on {task.name}",
        restart=restart,
        progress=progress,
        makes_folder=True,
    )
    with run:
        train(model, encode(tokenizer, task, recipe.max_tokens), task, recipe, run)
        save(model, tokenizer, task, recipe, folder, run.place("model"))
    return folder


def _check_free(folder: Path) -> None:
    """Raise an error unless the folder is empty: the finished model replaces it."""
    if folder.is_file():
        raise BadInput(f"{folder} is a file; give the name of a folder for the model.")
    if (folder / "config.json").exists():
        raise BadInput(f"{folder} already holds a model; choose another folder or remove it.")
    if folder.is_dir() and any(folder.iterdir()):
        raise BadInput(f"{folder} holds other files; give a new or an empty folder for the model.")


def new_classifier(
    source: Scope | str | Path | None, task: Task, recipe: Recipe, trust_remote_code: bool = False
) -> tuple[Any, Any]:
    """The model with a fresh head for the task, and its tokenizer."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    if isinstance(source, Scope):
        return _classifier_of(source, task, recipe, trust_remote_code)
    where = str(BUNDLED) if source is None else model_source(source)
    code = {"trust_remote_code": trust_remote_code}
    torch.manual_seed(recipe.seed)
    try:
        # always passed, or transformers would prompt for it on the terminal
        configuration: Any = AutoConfig.from_pretrained(where, **code, **_answers_of(task))
        tokenizer = open_tokenizer(where, trust_remote_code)
        need_tokenizer(where, tokenizer)
        for name in DROPOUTS:
            if recipe.dropout is not None and hasattr(configuration, name):
                setattr(configuration, name, recipe.dropout)
        if recipe.from_scratch:
            # a configuration may name half precision, in which training fails
            model: Any = AutoModelForSequenceClassification.from_config(
                configuration, dtype=torch.float32, **code
            )
        else:
            with _no_talk():  # the new head is intended
                model, report = AutoModelForSequenceClassification.from_pretrained(
                    where,
                    config=configuration,
                    dtype=torch.float32,
                    **code,
                    output_loading_info=True,
                )
            check_complete(model, where, report)
    except BadInput:
        raise
    except Exception as error:  # readers of damaged files may raise anything
        raise not_opened(where, error) from error
    if model.config.pad_token_id is None:
        model.config.pad_token_id = pad_id(tokenizer)
    return model, tokenizer


def _classifier_of(
    scope: Scope, task: Task, recipe: Recipe, trust_remote_code: bool
) -> tuple[Any, Any]:
    """The scope's own weights with a new head; the scope itself is unchanged."""
    from transformers import AutoModelForSequenceClassification

    if scope.tokenizer is None:
        raise BadInput(f"{scope.name} has no tokenizer, so it cannot be trained on text.")
    configuration: Any = copy.deepcopy(scope.model.config)
    configuration.update(_answers_of(task))
    for name in DROPOUTS:
        if recipe.dropout is not None and hasattr(configuration, name):
            setattr(configuration, name, recipe.dropout)
    torch.manual_seed(recipe.seed)
    try:
        model: Any = AutoModelForSequenceClassification.from_config(
            configuration, dtype=torch.float32, trust_remote_code=trust_remote_code
        )
    except ValueError as error:
        if "trust_remote_code" in str(error):
            raise not_opened(scope.name, error) from error
        raise BadInput(
            f"{scope.name} has no architecture for classifying texts; choose another model."
        ) from error
    if not recipe.from_scratch:
        # a pooler missing in the scope's model is new, as in a model loaded from a folder
        model.base_model.load_state_dict(scope.model.base_model.state_dict(), strict=False)
    if model.config.pad_token_id is None:
        model.config.pad_token_id = pad_id(scope.tokenizer)
    return model, scope.tokenizer


def _answers_of(task: Task) -> dict[str, Any]:
    """The configuration's entries for the task's classes."""
    options: dict[str, Any] = {"num_labels": 1 if task.kind == "regression" else len(task.classes)}
    if task.classes:
        options["id2label"] = dict(enumerate(task.classes))
        options["label2id"] = {name: i for i, name in enumerate(task.classes)}
    return options


def save(
    model: Any, tokenizer: Any, task: Task, recipe: Recipe, folder: Path, made: Path | None = None
) -> None:
    """Write the model folder completely or not at all: write it elsewhere, then move it."""
    made = made or folder.with_name(f".{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    try:
        with _no_talk():
            model.save_pretrained(made)
            tokenizer.save_pretrained(made)
        about = {
            "task": task.name,
            "kind": task.kind,
            "classes": list(task.classes),
            "metric": task.metric,
            "examples": len(task),
            "recipe": dataclasses.asdict(recipe),
        }
        (made / "headscope_task.json").write_text(json.dumps(about, indent=2) + "\n")
        for file in made.iterdir():  # safetensors writes files that only the owner may read
            shutil.copymode(made / "headscope_task.json", file)
        shutil.rmtree(folder, ignore_errors=True)
        made.replace(folder)
    except OSError as error:
        raise HeadscopeError(
            f"The model could not be saved in {folder} ({error.strerror}); the training is "
            f"saved, and the same command resumes it."
        ) from error


def _task_fingerprint(task: Task) -> str:
    """The digest of every example, its label and the class names."""
    content = hashlib.sha256(repr((task.texts, task.text_pairs, task.classes)).encode())
    content.update(task.labels.tobytes())
    return content.hexdigest()


@contextlib.contextmanager
def _no_talk() -> Generator[None]:
    from transformers.utils import logging

    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
