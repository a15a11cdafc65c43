"""The names that records have for parts and their fields, wherever the classes are today.

Records, and the digests of settings and claims, outlive files: a class may move to another file, or
get another name or more fields, and keeps its row. The rows here are never changed, but for the
class's name of today; a part that is not here is recorded as "attnjax.Name" with all of its fields.
"""

from attnjax.config.walk import field_names

PACKAGE = "attnjax."

RECORDED = {
    "AddingProblem": ("attnjax.AddingProblem", "seed operation length train valid test"),
    "Addition": ("attnjax.Addition", "seed digits train test"),
    "AlikeShare": ("attnjax.AlikeShare", "metric first second within"),
    "NoResidual": ("attnjax.NoResidual", ""),
    "Salience": ("attnjax.Salience", ""),
    "SequenceRegressor": ("attnjax.SequenceRegressor", "initializer width activation attention"),
    "SquaredErrorWithin": ("attnjax.SquaredErrorWithin", "tolerance"),
    "AdaptiveTemperature": ("attnjax.attention.adaptive_temperature.AdaptiveTemperature", ""),
    "LearnedScale": ("attnjax.attention.align.LearnedScale", ""),
    "Normalize": ("attnjax.attention.align.Normalize", ""),
    "Softmax": ("attnjax.attention.align.Softmax", "temperature"),
    "Uniform": ("attnjax.attention.align.Uniform", ""),
    "Attention": (
        "attnjax.attention.attention.Attention",
        "score align pool mask dropout implementation",
    ),
    "Forgetting": ("attnjax.attention.bias.Forgetting", ""),
    "Bucketed": ("attnjax.attention.bucketed_score.Bucketed", "score buckets most both_sides"),
    "SoftCap": ("attnjax.attention.capped_score.SoftCap", "score cap"),
    "FeatureDecay": ("attnjax.attention.decay.FeatureDecay", ""),
    "HeadDecay": ("attnjax.attention.decay.HeadDecay", ""),
    "NoDecay": ("attnjax.attention.decay.NoDecay", ""),
    "SigmoidDecay": ("attnjax.attention.decay.SigmoidDecay", "rank temperature"),
    "WordDecay": ("attnjax.attention.decay.WordDecay", "discretized"),
    "DifferentialHeads": (
        "attnjax.attention.differential.DifferentialHeads",
        "head heads key_heads key_width value_width bias heads_out context_norm initial_lambda",
    ),
    "FastWeights": ("attnjax.attention.fast_weights.FastWeights", "feature_map"),
    "EluPlusOne": ("attnjax.attention.feature_map.EluPlusOne", ""),
    "PositiveRandomFeatures": ("attnjax.attention.feature_map.PositiveRandomFeatures", "features"),
    "TaylorFeatures": ("attnjax.attention.feature_map.TaylorFeatures", ""),
    "OutputGate": ("attnjax.attention.gate.OutputGate", "each activation"),
    "HardAlibi": ("attnjax.attention.hard_alibi.HardAlibi", "align unbounded"),
    "Hard": ("attnjax.attention.hard_align.Hard", "soft_probability"),
    "HardMax": ("attnjax.attention.hard_align.HardMax", ""),
    "StraightThrough": ("attnjax.attention.hard_align.StraightThrough", "temperature"),
    "Boxcar": ("attnjax.attention.kernel_score.Boxcar", "bandwidth"),
    "Epanechnikov": ("attnjax.attention.kernel_score.Epanechnikov", "bandwidth"),
    "Gaussian": ("attnjax.attention.kernel_score.Gaussian", "bandwidth"),
    "LearnedGaussian": ("attnjax.attention.kernel_score.LearnedGaussian", "bandwidth"),
    "SquaredExponential": ("attnjax.attention.kernel_score.SquaredExponential", "bandwidth"),
    "Triangular": ("attnjax.attention.kernel_score.Triangular", "bandwidth"),
    "LastState": ("attnjax.attention.last_state.LastState", "readers"),
    "LatentAttention": (
        "attnjax.attention.latent.LatentAttention",
        "head heads latent_width key_width rotary_width value_width norm base",
    ),
    "LinearAttention": ("attnjax.attention.linear.LinearAttention", "feature_map"),
    "LocalMonotonic": ("attnjax.attention.local_align.LocalMonotonic", "reach"),
    "LocalPredictive": ("attnjax.attention.local_align.LocalPredictive", "reach width sigma"),
    "And": ("attnjax.attention.mask.And", "conjuncts"),
    "Causal": ("attnjax.attention.mask.Causal", ""),
    "ExcludeSelf": ("attnjax.attention.mask.ExcludeSelf", ""),
    "Or": ("attnjax.attention.mask.Or", "alternatives"),
    "Prefix": ("attnjax.attention.mask.Prefix", "length of"),
    "Window": ("attnjax.attention.mask.Window", "before after"),
    "MultiHead": (
        "attnjax.attention.multihead.MultiHead",
        "head heads key_heads key_width value_width bias heads_out",
    ),
    "OffByOne": ("attnjax.attention.open_align.OffByOne", ""),
    "ReLU": ("attnjax.attention.open_align.ReLU", ""),
    "Sigmoid": ("attnjax.attention.open_align.Sigmoid", "bias"),
    "Sink": ("attnjax.attention.open_align.Sink", ""),
    "Softpick": ("attnjax.attention.open_align.Softpick", ""),
    "StickBreaking": ("attnjax.attention.open_align.StickBreaking", ""),
    "RelativeSum": ("attnjax.attention.pool.RelativeSum", "max_distance"),
    "WeightedSum": ("attnjax.attention.pool.WeightedSum", ""),
    "Learned": ("attnjax.attention.position.Learned", "max_length"),
    "NoPosition": ("attnjax.attention.position.NoPosition", ""),
    "Sinusoidal": ("attnjax.attention.position.Sinusoidal", ""),
    "Alibi": ("attnjax.attention.position_score.Alibi", "score"),
    "Relative": ("attnjax.attention.position_score.Relative", "score max_distance"),
    "Rotary": ("attnjax.attention.position_score.Rotary", "score base"),
    "DecayedState": ("attnjax.attention.recurrent.DecayedState", "decay"),
    "DeltaRule": ("attnjax.attention.recurrent.DeltaRule", "decay largest_strength"),
    "Interpolated": ("attnjax.attention.rotary_scaling.Interpolated", "factor"),
    "LargerBase": ("attnjax.attention.rotary_scaling.LargerBase", "factor"),
    "Yarn": ("attnjax.attention.rotary_scaling.Yarn", "factor trained_length fast slow"),
    "Additive": ("attnjax.attention.score.Additive", "width"),
    "Dot": ("attnjax.attention.score.Dot", ""),
    "General": ("attnjax.attention.score.General", ""),
    "Location": ("attnjax.attention.score.Location", "max_length"),
    "ScaledDot": ("attnjax.attention.score.ScaledDot", ""),
    "WidthScaledDot": ("attnjax.attention.score.WidthScaledDot", "base_key_width"),
    "SelectiveHeads": (
        "attnjax.attention.selective.SelectiveHeads",
        "head heads key_heads key_width value_width bias heads_out",
    ),
    "SelfAttentive": ("attnjax.attention.self_attentive.SelfAttentive", "hops width"),
    "SignedLinearAttention": (
        "attnjax.attention.signed_linear.SignedLinearAttention",
        "feature_map",
    ),
    "Entmax15": ("attnjax.attention.sparse_align.Entmax15", ""),
    "Sparsemax": ("attnjax.attention.sparse_align.Sparsemax", ""),
    "TopK": ("attnjax.attention.sparse_align.TopK", "k"),
    "TalkingHeads": ("attnjax.attention.talking_heads.TalkingHeads", "align"),
    "Batching": (
        "attnjax.data.batching.Batching",
        "max_tokens batch_size shapes batch_size_multiple",
    ),
    "Coco": (
        "attnjax.data.corpora.coco.Coco",
        "name train valid test folder side captions vocabulary",
    ),
    "MovieReviews": (
        "attnjax.data.corpora.labeled.MovieReviews",
        "valid seed vocabulary folder fold",
    ),
    "Trec": ("attnjax.data.corpora.labeled.Trec", "valid seed vocabulary folder"),
    "LabeledFile": (
        "attnjax.data.corpora.labeled_file.LabeledFile",
        "valid seed vocabulary folder train test text label delimiter quote encoding",
    ),
    "Forward": ("attnjax.data.corpora.parallel_text.Forward", ""),
    "JsonLines": (
        "attnjax.data.corpora.parallel_text.JsonLines",
        "train valid test vocabulary target_vocabulary source_order max_length folder "
        "encoding source target",
    ),
    "ParallelText": (
        "attnjax.data.corpora.parallel_text.ParallelText",
        "train valid test vocabulary target_vocabulary source_order max_length folder source "
        "target encoding",
    ),
    "Reversed": ("attnjax.data.corpora.parallel_text.Reversed", ""),
    "TabSeparated": (
        "attnjax.data.corpora.parallel_text.TabSeparated",
        "train valid test vocabulary target_vocabulary source_order max_length folder encoding",
    ),
    "RawText": (
        "attnjax.data.corpora.raw_text.RawText",
        "vocabulary length stride train_stride file valid test",
    ),
    "Scan": ("attnjax.data.corpora.scan.Scan", "valid seed vocabulary folder split"),
    "ScanByActions": (
        "attnjax.data.corpora.scan.ScanByActions",
        "valid seed vocabulary folder longest",
    ),
    "LearnedFrom": ("attnjax.data.corpora.sentences.LearnedFrom", "vocabulary tasks"),
    "PairLabels": ("attnjax.data.corpora.sentences.PairLabels", ""),
    "SentencePairs": (
        "attnjax.data.corpora.sentences.SentencePairs",
        "valid seed vocabulary files test",
    ),
    "Unlabeled": ("attnjax.data.corpora.sentences.Unlabeled", "tasks valid test seed vocabulary"),
    "Translation": (
        "attnjax.data.corpora.tfds.Translation",
        "train valid test vocabulary target_vocabulary source_order max_length name source "
        "target folder",
    ),
    "LabeledTfds": (
        "attnjax.data.corpora.tfds_texts.LabeledTfds",
        "valid seed vocabulary name text label train test folder",
    ),
    "RawTfds": (
        "attnjax.data.corpora.tfds_texts.RawTfds",
        "vocabulary length stride train_stride name text train valid test folder",
    ),
    "BigramBackcopy": (
        "attnjax.data.generated.bigram_copy.BigramBackcopy",
        "seed train valid test shortest longest test_longest test_every file encoding triggers",
    ),
    "BooleanExpression": (
        "attnjax.data.generated.counter_languages.BooleanExpression",
        "seed train valid test shortest longest test_longest test_every",
    ),
    "EqualBlocks": (
        "attnjax.data.generated.counter_languages.EqualBlocks",
        "seed train valid test shortest longest test_longest test_every",
    ),
    "ShuffledBrackets": (
        "attnjax.data.generated.counter_languages.ShuffledBrackets",
        "seed train valid test shortest longest test_longest test_every kinds",
    ),
    "Dates": (
        "attnjax.data.generated.dates.Dates",
        "seed train valid test locales formats first_year last_year",
    ),
    "InContextRegression": (
        "attnjax.data.generated.in_context_regression.InContextRegression",
        "seed train valid test points dimensions width",
    ),
    "DictionaryRecall": (
        "attnjax.data.generated.induction.DictionaryRecall",
        "seed train valid test shortest longest test_longest test_every asked keys values",
    ),
    "InductionHead": (
        "attnjax.data.generated.induction.InductionHead",
        "seed train valid test shortest longest test_longest test_every asked symbols",
    ),
    "MaxRetrieval": (
        "attnjax.data.generated.max_retrieval.MaxRetrieval",
        "seed train valid test classes fewest most test_sizes",
    ),
    "ModularDivision": (
        "attnjax.data.generated.modular_division.ModularDivision",
        "seed modulus train_share",
    ),
    "EvenOnes": (
        "attnjax.data.generated.periodic_languages.EvenOnes",
        "seed train valid test shortest longest test_longest test_every",
    ),
    "Repeated": (
        "attnjax.data.generated.periodic_languages.Repeated",
        "seed train valid test shortest longest test_longest test_every unit",
    ),
    "MultiQueryRecall": (
        "attnjax.data.generated.recall.MultiQueryRecall",
        "seed train valid test shortest longest test_longest test_every symbols pairs power",
    ),
    "NoisyFunction": (
        "attnjax.data.generated.regression.NoisyFunction",
        "train valid test sets dimensions noise seed",
    ),
    "CycleNavigation": (
        "attnjax.data.generated.regular_languages.CycleNavigation",
        "seed train valid test shortest longest test_longest test_every asked",
    ),
    "EvenPairs": (
        "attnjax.data.generated.regular_languages.EvenPairs",
        "seed train valid test shortest longest test_longest test_every asked",
    ),
    "ModularArithmetic": (
        "attnjax.data.generated.regular_languages.ModularArithmetic",
        "seed train valid test shortest longest test_longest test_every asked",
    ),
    "Parity": (
        "attnjax.data.generated.regular_languages.Parity",
        "seed train valid test shortest longest test_longest test_every asked",
    ),
    "DuplicateString": (
        "attnjax.data.generated.rewritten_strings.DuplicateString",
        "seed train valid test shortest longest test_longest test_every symbols",
    ),
    "ReverseString": (
        "attnjax.data.generated.rewritten_strings.ReverseString",
        "seed train valid test shortest longest test_longest test_every symbols",
    ),
    "AssociativeRecall": (
        "attnjax.data.generated.sequences.AssociativeRecall",
        "seed train valid test keys values fewest most",
    ),
    "Copy": (
        "attnjax.data.generated.sequences.Copy",
        "seed train valid test symbols shortest longest",
    ),
    "Reverse": (
        "attnjax.data.generated.sequences.Reverse",
        "seed train valid test symbols shortest longest",
    ),
    "Sort": (
        "attnjax.data.generated.sequences.Sort",
        "seed train valid test symbols shortest longest",
    ),
    "Zip": (
        "attnjax.data.generated.sequences.Zip",
        "seed train valid test symbols shortest longest lists",
    ),
    "Shapes": (
        "attnjax.data.generated.shapes.Shapes",
        "seed train valid test cells fewest most patch",
    ),
    "MosesVocabulary": ("attnjax.data.moses.MosesVocabulary", "pieces language"),
    "MosesWords": ("attnjax.data.moses.MosesWords", "min_count max_size language"),
    "Packed": (
        "attnjax.data.packed.Packed",
        "max_tokens batch_size shapes batch_size_multiple length",
    ),
    "DatasetPerSeed": (
        "attnjax.data.per_seed.DatasetPerSeed",
        "max_tokens batch_size shapes batch_size_multiple epoch",
    ),
    "SentencePiece": ("attnjax.data.sentencepiece.SentencePiece", "size coverage algorithm sample"),
    "SentencePieceVocabulary": (
        "attnjax.data.sentencepiece.SentencePieceVocabulary",
        "pieces model",
    ),
    "Shuffled": ("attnjax.data.shuffled.Shuffled", "task seed"),
    "SavedVocabulary": ("attnjax.data.vocabularies.SavedVocabulary", "folder"),
    "CharacterVocabulary": ("attnjax.data.vocabulary.CharacterVocabulary", "pieces"),
    "Characters": ("attnjax.data.vocabulary.Characters", ""),
    "LabelVocabulary": ("attnjax.data.vocabulary.LabelVocabulary", "pieces"),
    "Labels": ("attnjax.data.vocabulary.Labels", ""),
    "SplitWords": ("attnjax.data.vocabulary.SplitWords", "min_count max_size"),
    "WordVocabulary": ("attnjax.data.vocabulary.WordVocabulary", "pieces"),
    "WithTest": ("attnjax.data.with_test.WithTest", "task test"),
    "WordPiece": ("attnjax.data.wordpiece.WordPiece", "file lower"),
    "WordPieceVocabulary": (
        "attnjax.data.wordpiece.WordPieceVocabulary",
        "pieces lower strip_accents split_ideographs",
    ),
    "Beam": ("attnjax.decoding.beam.Beam", "size length_penalty min_words max_words"),
    "Greedy": ("attnjax.decoding.greedy.Greedy", ""),
    "Label": ("attnjax.decoding.label.Label", ""),
    "GNMT": ("attnjax.decoding.length_penalty.GNMT", "alpha"),
    "NoPenalty": ("attnjax.decoding.length_penalty.NoPenalty", ""),
    "Power": ("attnjax.decoding.length_penalty.Power", "alpha"),
    "Sample": ("attnjax.decoding.sample.Sample", "temperature top_k top_p seed size"),
    "LayerWeights": (
        "attnjax.evaluation.attention_record.LayerWeights",
        "name rows columns shape scale weights",
    ),
    "SentenceAttention": (
        "attnjax.evaluation.attention_record.SentenceAttention",
        "number source target read gold points image grid layers",
    ),
    "Bleu": ("attnjax.evaluation.bleu.Bleu", "tokenize smooth"),
    "MetricKey": ("attnjax.evaluation.measurement.MetricKey", "name part moment"),
    "AdversarialAttention": (
        "attnjax.evaluation.measures.adversarial.AdversarialAttention",
        "examples tolerance starts steps",
    ),
    "Alignment": ("attnjax.evaluation.measures.alignment.Alignment", ""),
    "Heatmaps": ("attnjax.evaluation.measures.alignment.Heatmaps", ""),
    "Measure": ("attnjax.evaluation.measures.base.Measure", ""),
    "ByLength": ("attnjax.evaluation.measures.by_length.ByLength", "parts"),
    "OneGradientStep": ("attnjax.evaluation.measures.gradient_step.OneGradientStep", ""),
    "Heads": ("attnjax.evaluation.measures.heads.Heads", "examples gold"),
    "LabelAccuracy": ("attnjax.evaluation.measures.labels.LabelAccuracy", "longest"),
    "LastLayerGradient": (
        "attnjax.evaluation.measures.last_layer_gradient.LastLayerGradient",
        "examples",
    ),
    "LayerCost": (
        "attnjax.evaluation.measures.layer_cost.LayerCost",
        "layer lengths width widths path_lengths growing",
    ),
    "LongerWindows": ("attnjax.evaluation.measures.longer_windows.LongerWindows", "lengths"),
    "MaskedWords": ("attnjax.evaluation.measures.masked_words.MaskedWords", "rate"),
    "Perplexity": ("attnjax.evaluation.measures.perplexity.Perplexity", ""),
    "Regions": ("attnjax.evaluation.measures.regions.Regions", ""),
    "RegressionError": ("attnjax.evaluation.measures.regression.RegressionError", ""),
    "Saturation": ("attnjax.evaluation.measures.saturation.Saturation", "examples draws"),
    "AdaptiveGain": ("attnjax.evaluation.measures.set_accuracy.AdaptiveGain", ""),
    "SetAccuracy": ("attnjax.evaluation.measures.set_accuracy.SetAccuracy", ""),
    "Sinks": ("attnjax.evaluation.measures.sinks.Sinks", "examples"),
    "StateSize": ("attnjax.evaluation.measures.state_size.StateSize", ""),
    "Support": ("attnjax.evaluation.measures.support.Support", ""),
    "TrainingAccuracy": ("attnjax.evaluation.measures.training_accuracy.TrainingAccuracy", ""),
    "UpdatesTo": ("attnjax.evaluation.measures.updates_to.UpdatesTo", "least"),
    "Accuracy": ("attnjax.evaluation.metric.Accuracy", ""),
    "ChrF": ("attnjax.evaluation.metric.ChrF", "order beta"),
    "ExactMatch": ("attnjax.evaluation.metric.ExactMatch", ""),
    "CopyUnknown": ("attnjax.evaluation.unknown_words.CopyUnknown", ""),
    "Dictionary": ("attnjax.evaluation.unknown_words.Dictionary", "file"),
    "AboveBest": ("attnjax.experiment.above_best.AboveBest", "metric variant others"),
    "BestOf": ("attnjax.experiment.best_of.BestOf", "metric among"),
    "Condition": ("attnjax.experiment.estimands.Condition", "estimand low high"),
    "Count": ("attnjax.experiment.estimands.Count", "metric variant"),
    "Difference": ("attnjax.experiment.estimands.Difference", "metric better worse"),
    "Slope": ("attnjax.experiment.estimands.Slope", "metric over axis name"),
    "Value": ("attnjax.experiment.estimands.Value", "metric variant"),
    "Experiment": (
        "attnjax.experiment.experiment.Experiment",
        "task model objective optimizer training search metric measures unknown "
        "initial_parameters_from",
    ),
    "LengthGain": ("attnjax.experiment.length_gain.LengthGain", "metric better worse parts"),
    "OptimumSlope": ("attnjax.experiment.optimum_slope.OptimumSlope", "metric over tried axis"),
    "SeedShare": ("attnjax.experiment.seed_share.SeedShare", "metric variant least"),
    "BertEncoder": (
        "attnjax.models.bert.BertEncoder",
        "vocabulary width num_layers layer position segments norm residual dropout",
    ),
    "BertClassifier": (
        "attnjax.models.bert_heads.BertClassifier",
        "initializer vocabulary source_vocabulary bert dropout",
    ),
    "BertPretraining": (
        "attnjax.models.bert_heads.BertPretraining",
        "initializer source_vocabulary vocabulary bert dropout",
    ),
    "BertTagger": (
        "attnjax.models.bert_heads.BertTagger",
        "initializer vocabulary source_vocabulary bert dropout",
    ),
    "Captioner": (
        "attnjax.models.captioner.Captioner",
        "initializer vocabulary width embedding encoder attention cell dropout",
    ),
    "Convolutions": ("attnjax.models.captioner.Convolutions", "blocks"),
    "RecurrentCellMixer": ("attnjax.models.causal_recurrence.CausalRecurrence", "cell"),
    "Classifier": (
        "attnjax.models.classifier.Classifier",
        "initializer vocabulary source_vocabulary width encoder attention dropout",
    ),
    "Ensemble": ("attnjax.models.ensemble.Ensemble", "initializer vocabulary members"),
    "ConvolutionFeedForward": (
        "attnjax.models.feed_forward.ConvolutionFeedForward",
        "width activation dropout",
    ),
    "FeedForward": ("attnjax.models.feed_forward.FeedForward", "width activation dropout"),
    "GatedFeedForward": (
        "attnjax.models.feed_forward.GatedFeedForward",
        "width activation dropout",
    ),
    "NoFeedForward": ("attnjax.models.feed_forward.NoFeedForward", ""),
    "InContextRegressor": (
        "attnjax.models.in_context_regressor.InContextRegressor",
        "initializer attention",
    ),
    "KernelRegression": (
        "attnjax.models.kernel_regression.KernelRegression",
        "initializer attention",
    ),
    "Labeler": (
        "attnjax.models.labeler.Labeler",
        "initializer source_vocabulary vocabulary embeddings width num_layers layer "
        "interleaved position residual dropout input_scale",
    ),
    "LanguageModel": (
        "attnjax.models.language_model.LanguageModel",
        "initializer vocabulary width num_layers layer position residual dropout input_scale",
    ),
    "Elman": ("attnjax.models.rnn_cells.Elman", "width"),
    "GRU": ("attnjax.models.rnn_cells.GRU", "width"),
    "GRUResetBefore": ("attnjax.models.rnn_cells.GRUResetBefore", "width"),
    "LSTM": ("attnjax.models.rnn_cells.LSTM", "width forget"),
    "BahdanauDecoder": (
        "attnjax.models.rnn_decoders.BahdanauDecoder",
        "attention cell width maxout dropout",
    ),
    "InputFeeding": ("attnjax.models.rnn_decoders.InputFeeding", ""),
    "LuongDecoder": (
        "attnjax.models.rnn_decoders.LuongDecoder",
        "attention cell width layers feeding dropout",
    ),
    "NoInputFeeding": ("attnjax.models.rnn_decoders.NoInputFeeding", ""),
    "Encoder": ("attnjax.models.rnn_encoder.Encoder", "dropout cell width layers direction"),
    "SelfAttentionEncoder": (
        "attnjax.models.self_attention_encoder.SelfAttentionEncoder",
        "dropout num_layers layer position residual",
    ),
    "Seq2Seq": (
        "attnjax.models.seq2seq.Seq2Seq",
        "initializer vocabulary source_vocabulary width encoder decoder dropout",
    ),
    "Convolution": ("attnjax.models.sequence_layers.Convolution", "kernel_width dilation"),
    "Recurrence": ("attnjax.models.sequence_layers.Recurrence", "cell"),
    "SetClassifier": (
        "attnjax.models.set_classifier.SetClassifier",
        "initializer vocabulary width activation attention",
    ),
    "Transformer": (
        "attnjax.models.transformer.Transformer",
        "initializer vocabulary source_vocabulary embeddings width num_encoder_layers "
        "num_decoder_layers encoder_layer decoder_layer position residual dropout",
    ),
    "DecoderLayer": (
        "attnjax.models.transformer_layers.DecoderLayer",
        "self_attention feed_forward residual dropout remat cross_attention",
    ),
    "EncoderLayer": (
        "attnjax.models.transformer_layers.EncoderLayer",
        "self_attention feed_forward residual dropout remat",
    ),
    "Interleaved": ("attnjax.models.transformer_layers.Interleaved", "layer period"),
    "PostNorm": ("attnjax.models.transformer_layers.PostNorm", "norm"),
    "PreNorm": ("attnjax.models.transformer_layers.PreNorm", "norm"),
    "GPTInit": ("attnjax.nn.initializers.GPTInit", "std sublayers"),
    "InitByName": ("attnjax.nn.initializers.InitByName", "rules"),
    "InitRule": ("attnjax.nn.initializers.InitRule", "parameters initializer"),
    "MuPInit": ("attnjax.nn.initializers.MuPInit", "std sublayers base_width widening"),
    "NormalInit": ("attnjax.nn.initializers.NormalInit", "std"),
    "OrthogonalInit": ("attnjax.nn.initializers.OrthogonalInit", ""),
    "UniformInit": ("attnjax.nn.initializers.UniformInit", "scale"),
    "ZerosInit": ("attnjax.nn.initializers.ZerosInit", ""),
    "BatchNorm": ("attnjax.nn.norm.BatchNorm", "momentum epsilon"),
    "LayerNorm": ("attnjax.nn.norm.LayerNorm", "epsilon"),
    "NoNorm": ("attnjax.nn.norm.NoNorm", ""),
    "RMSNorm": ("attnjax.nn.norm.RMSNorm", "epsilon"),
    "KeepInputs": ("attnjax.nn.remat.KeepInputs", ""),
    "KeepProducts": ("attnjax.nn.remat.KeepProducts", ""),
    "CrossEntropy": ("attnjax.training.objectives.base.CrossEntropy", "smoothing"),
    "LabelEntropy": ("attnjax.training.objectives.label_entropy.LabelEntropy", ""),
    "MaskedLanguageModel": (
        "attnjax.training.objectives.masked_language_model.MaskedLanguageModel",
        "rate next_sentence",
    ),
    "RedundancyPenalty": (
        "attnjax.training.objectives.redundancy_penalty.RedundancyPenalty",
        "smoothing penalty",
    ),
    "DoublyStochastic": (
        "attnjax.training.objectives.show_attend_tell.DoublyStochastic",
        "smoothing penalty",
    ),
    "Reinforce": (
        "attnjax.training.objectives.show_attend_tell.Reinforce",
        "smoothing reward entropy",
    ),
    "SquaredError": ("attnjax.training.objectives.squared_error.SquaredError", ""),
    "TeacherForcing": (
        "attnjax.training.objectives.teacher_forcing.TeacherForcing",
        "smoothing probability",
    ),
    "Adadelta": ("attnjax.training.optimizers.Adadelta", "schedule clip rho epsilon"),
    "Adam": ("attnjax.training.optimizers.Adam", "schedule clip b1 b2 epsilon weight_decay"),
    "GradientDescent": ("attnjax.training.optimizers.GradientDescent", "schedule clip"),
    "Constant": ("attnjax.training.schedules.Constant", "value"),
    "Cosine": ("attnjax.training.schedules.Cosine", "peak warmup decay"),
    "Halving": ("attnjax.training.schedules.Halving", "value after every"),
    "InverseSquareRoot": ("attnjax.training.schedules.InverseSquareRoot", "peak warmup start"),
    "Noam": ("attnjax.training.schedules.Noam", "width warmup factor"),
    "Scoring": ("attnjax.training.settings.Scoring", "every sentences decides"),
    "Training": (
        "attnjax.training.settings.Training",
        "steps patience average result keep_last keep_best parallel precision batching "
        "device_tokens not_finite scoring",
    ),
}
"""By the name of a class: its name in records, and the fields that all of its records have."""

CLASSES = {recorded: name for name, (recorded, _) in RECORDED.items()}
"""The name of a class by its name in records."""


def is_shipped(kind: type) -> bool:
    """Return whether a class is one of attnjax."""
    return kind.__module__.startswith(PACKAGE)


def recorded_name(kind: type) -> str:
    """Return the name that records have for a class of attnjax."""
    recorded, _ = RECORDED.get(kind.__name__, (f"{PACKAGE}{kind.__name__}", ""))
    return recorded


def class_name(recorded: str) -> str:
    """Return the name of the class that records name so; "": no class of attnjax is named so."""
    module, _, name = recorded.rpartition(".")
    return CLASSES.get(recorded) or (name if f"{module}." == PACKAGE else "")


def added_fields(kind: type) -> set[str]:
    """Return the fields that a class has got since it was first recorded, those of bases included.

    A record leaves them out at their defaults, so that equal settings have equal digests whether or
    not they were recorded before a field was added.
    """
    for base in kind.__mro__:
        if is_shipped(base) and base.__name__ in RECORDED:
            _, fields = RECORDED[base.__name__]
            return {*field_names(base)} - {*fields.split()}
    return set()
